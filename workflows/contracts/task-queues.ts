/** Default task queue: workflows and short activities. Tests and side-by-side installations use another name. */
export const defaultTaskQueue = 'vmflow';

/** The queue of uploads and disk copies that belongs to a control queue: `vmflow` → `vmflow-transfer`. */
export function transferQueueOf(controlQueue: string): string {
  return `${controlQueue}-transfer`;
}
