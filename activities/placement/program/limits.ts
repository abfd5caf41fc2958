/** What a placement program may cost. Those of real batches take about a millisecond. */
export const limits = {
  /** Milliseconds at work, start-up of the interpreter aside. It is asked to stop then. */
  timeMs: 200,
  /** Some of its work can't be interrupted, such as searches in long texts: its thread is ended then. */
  terminateMs: 400,
  memoryBytes: 16 * 2 ** 20,
  stackBytes: 256 * 2 ** 10,
  /** The interpreter's own stack must not end before the program's: then it could only be thrown away. */
  threadStackMb: 8,
  threadHeapMb: 64,
  sourceBytes: 64 * 2 ** 10,
  /** A thread that is not ready by then never will be. */
  startMs: 30_000,
  logLines: 100,
  logCharacters: 1_000,
  /** Of errors that the program throws. */
  messageCharacters: 1_000,
} as const;
