/**
 * Milliseconds in which this process was at work since the call: one that waits for a processor spends none. So a busy machine
 * doesn't make mistakes of what is merely late.
 */
export function stopwatch(): () => number {
  const start = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return Math.min(performance.now() - start, (user + system) / 1_000);
  };
}
