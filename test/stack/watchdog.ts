import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * Ends our children when this process is killed so hard that it can't do so itself: a shell that reads their pids from a pipe
 * and kills what is left when the pipe closes. It runs in a session of its own, or Ctrl-C would take it first.
 */
const script = `
pids=
while read -r op pid; do
  case $op in
    +) pids="$pids $pid" ;;
    -) left=; for p in $pids; do [ "$p" = "$pid" ] || left="$left $p"; done; pids=$left ;;
  esac
done
for p in $pids; do kill -9 "$p" 2>/dev/null; done
`;

let shell: ChildProcess | undefined;

/** From now on this child does not outlive us. */
export function guard(pid: number): void {
  tell(`+ ${pid}\n`);
}

/** The child has ended; its pid may belong to somebody else soon. */
export function release(pid: number): void {
  tell(`- ${pid}\n`);
}

function tell(line: string): void {
  shell ??= start();
  shell.stdin?.write(line);
}

function start(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.on('error', () => undefined); // it is gone, and so is what it would have done
  child.unref();
  (child.stdin as Writable & { unref(): void }).unref(); // a pipe is a socket; the types know only the stream
  return child;
}
