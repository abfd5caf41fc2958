/** What the names of an entry's own snapshots at the source begin with. */
export function snapshotPrefix(uuid: string): string {
  return `mm-${uuid.slice(0, 8)}-`;
}

/** Of the pass with this number. */
export function snapshotName(uuid: string, pass: number): string {
  return `${snapshotPrefix(uuid)}${pass}`;
}

/** Whether an entry of this VM made it. Somebody else's snapshot is never ours to remove. */
export function isOwnSnapshot(name: string, uuid: string): boolean {
  const prefix = snapshotPrefix(uuid);
  return name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
}
