/** What is smaller is not worth the call. Bytes. */
const smallest = 4 * 1024;

type Memory = ArrayBufferLike & { transfer?(length: number): ArrayBuffer };

/**
 * Frees the memory of a chunk that came from a connection and was copied elsewhere; it is empty from then on. The collector would
 * leave it until some 30 MB of such chunks have come together, and then mark the whole heap for them: where gigabytes are passed
 * on, that costs more than the passing on. Nothing happens to a chunk that is a part of something larger.
 */
export function giveBack(chunk: Uint8Array): void {
  const memory: Memory = chunk.buffer;
  if (chunk.byteLength === memory.byteLength && chunk.byteLength >= smallest) memory.transfer?.(0);
}
