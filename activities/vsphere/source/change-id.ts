/** `<uuid>/<sequence>`: the uuid changes when tracking begins anew, the sequence grows with each snapshot. */
export interface ChangeId {
  readonly uuid: string;
  readonly sequence: number;
}

/** undefined: empty or of no such form. */
export function parseChangeId(text: string): ChangeId | undefined {
  const [, uuid, sequence] = /^([^/*]+)\/(\d{1,15})$/.exec(text.trim()) ?? [];
  return uuid === undefined ? undefined : { uuid: uuid.toLowerCase(), sequence: Number(sequence) };
}

/** Whether what changed since `since` can be asked of a disk that is at `current` now. */
export function isUsable(since: string, current: string): boolean {
  const [then, now] = [parseChangeId(since), parseChangeId(current)];
  return then !== undefined && now !== undefined && then.uuid === now.uuid && then.sequence <= now.sequence;
}
