/** What an agent says when something failed: the reason of its event, and the text of its lifecycle. */
export class AgentFailure extends Error {
  override readonly name = 'AgentFailure';
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Whatever fails within gets this reason, unless it has one already. */
export async function orFailure<T>(reason: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AgentFailure || !(error instanceof Error) || error.name === 'AgentGone') throw error;
    throw new AgentFailure(reason, `${what}: ${error.message}`, error);
  }
}
