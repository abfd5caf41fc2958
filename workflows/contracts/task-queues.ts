/** Default task queue: workflows and short activities. Tests and side-by-side installations use another name. */
export const defaultTaskQueue = 'vmflow';

/** The queue of uploads and disk copies that belongs to a control queue: `vmflow` → `vmflow-transfer`. */
export function transferQueueOf(controlQueue: string): string {
  return `${controlQueue}-transfer`;
}

/**
 * The queue of activities that only wait, for hours perhaps: `vmflow` → `vmflow-wait`. Apart from the others, so that however
 * many operations wait, a newer one that takes over finds a free slot.
 */
export function waitQueueOf(controlQueue: string): string {
  return `${controlQueue}-wait`;
}

/** The control queue that a waiting queue belongs to; a control queue is its own. */
export function controlQueueOf(queue: string): string {
  return queue.replace(/-wait$/, '');
}
