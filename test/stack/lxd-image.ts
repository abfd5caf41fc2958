import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where the program is in memory. */
const base = 0x400000;
const headerBytes = 64 + 56;

/** An image of a container with one program of some 200 bytes: it waits to be told to shut down (SIGPWR), and then ends. */
export async function tinyImage(dir: string): Promise<string> {
  const root = join(dir, 'rootfs');
  for (const folder of ['dev', 'proc', 'sys', 'mnt', 'sbin']) await mkdir(join(root, folder), { recursive: true });
  await writeFile(join(root, 'sbin', 'init'), initProgram(), { mode: 0o755 });
  await writeFile(join(dir, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  const image = join(dir, 'image.tar');
  await run('tar', ['-C', dir, '-cf', image, '--owner=0', '--group=0', 'metadata.yaml', 'rootfs']);
  return image;
}

/** An ELF file for x86-64 without any library. */
function initProgram(): Buffer {
  const length = code(0).length;
  const signals = Buffer.alloc(8);
  signals.writeBigUInt64LE(1n << 29n); // SIGPWR
  const program = Buffer.concat([code(base + headerBytes + length), signals]);
  const header = Buffer.alloc(headerBytes);
  header.write('\x7fELF\x02\x01\x01', 'latin1'); // 64 bits, little-endian
  header.writeUInt16LE(2, 16); // an executable
  header.writeUInt16LE(62, 18); // for x86-64
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(base + headerBytes), 24); // where it begins
  header.writeBigUInt64LE(64n, 32); // its one segment's header
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64); // to be loaded,
  header.writeUInt32LE(5, 68); // read and run
  const whole = BigInt(headerBytes + program.length);
  for (const [at, value] of [
    [80, BigInt(base)],
    [88, BigInt(base)],
    [96, whole],
    [104, whole],
    [112, 0x1000n],
  ] as const)
    header.writeBigUInt64LE(value, at);
  return Buffer.concat([header, program]);
}

/** A first process doesn't get signals that it neither handles nor blocks. */
function code(signalsAt: number): Buffer {
  const at = [signalsAt & 0xff, (signalsAt >> 8) & 0xff, (signalsAt >> 16) & 0xff, signalsAt >>> 24];
  return Buffer.from([
    ...[0xb8, 14, 0, 0, 0], //           mov eax, rt_sigprocmask
    ...[0x31, 0xff], //                  xor edi, edi        ; SIG_BLOCK
    ...[0xbe, ...at], //                 mov esi, signals
    ...[0x31, 0xd2], //                  xor edx, edx
    ...[0x41, 0xba, 8, 0, 0, 0], //      mov r10d, 8
    ...[0x0f, 0x05], //                  syscall
    ...[0xb8, 128, 0, 0, 0], //          mov eax, rt_sigtimedwait
    ...[0xbf, ...at], //                 mov edi, signals
    ...[0x31, 0xf6], //                  xor esi, esi
    ...[0x31, 0xd2], //                  xor edx, edx        ; for ever
    ...[0x0f, 0x05], //                  syscall
    ...[0xb8, 60, 0, 0, 0], //           mov eax, exit
    ...[0x31, 0xff], //                  xor edi, edi
    ...[0x0f, 0x05], //                  syscall
  ]);
}
