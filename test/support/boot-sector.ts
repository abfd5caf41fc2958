export const sectorBytes = 512;

/** Where the BIOS puts the boot sector, and where that puts the sector that it reads. */
const loadedAt = 0x7c00;
const readTo = 0x7e00;

/** Beginning of the disk address packet, after the code. */
const packetAt = 0x60;

/**
 * A boot sector for a PC's BIOS that reads another sector of its disk and writes the text in it, up to the first zero byte, to the
 * first serial port: who sees the text knows that the disk boots and that this sector is where it belongs.
 */
export function bootSector(textSector: number): Buffer {
  const packet = loadedAt + packetAt;
  const code = Buffer.from([
    ...[0x31, 0xc0], //               xor ax, ax
    ...[0x8e, 0xd8], //               mov ds, ax
    ...[0xbe, packet & 0xff, packet >> 8], // mov si, packet
    ...[0xb4, 0x42], //               mov ah, 0x42     ; read sectors as the packet says, from the disk in dl
    ...[0xcd, 0x13], //               int 0x13
    ...[0x72, 0x19], //               jc end
    ...[0xbe, readTo & 0xff, readTo >> 8], // mov si, read
    ...[0xac], //              next:  lodsb
    ...[0x84, 0xc0], //               test al, al
    ...[0x74, 0x11], //               jz end
    ...[0x88, 0xc4], //               mov ah, al
    ...[0xba, 0xfd, 0x03], //         mov dx, 0x3fd
    ...[0xec], //              wait:  in al, dx        ; until the port takes a byte
    ...[0xa8, 0x20], //               test al, 0x20
    ...[0x74, 0xfb], //               jz wait
    ...[0xb2, 0xf8], //               mov dl, 0xf8
    ...[0x88, 0xe0], //               mov al, ah
    ...[0xee], //                     out dx, al
    ...[0xeb, 0xea], //               jmp next
    ...[0xf4], //              end:   hlt
    ...[0xeb, 0xfd], //               jmp end
  ]);
  const sector = Buffer.alloc(sectorBytes);
  code.copy(sector);
  sector.writeUInt8(16, packetAt);
  sector.writeUInt16LE(1, packetAt + 2);
  sector.writeUInt16LE(readTo, packetAt + 4);
  sector.writeBigUInt64LE(BigInt(textSector), packetAt + 8);
  sector.writeUInt16LE(0xaa55, 510);
  return sector;
}
