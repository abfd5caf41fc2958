/** What a query fails with whose worker could not tell the state of the workflow just then. */
export const askAgainMessage = 'its worker is just taking it up: ask again';

const mostAsked = 5;

/** Also of a workflow that was terminated before it could do what it had been told: there nobody can tell, however often asked. */
export function isAskAgain(error: unknown): boolean {
  return error instanceof Error && error.message.includes(askAgainMessage);
}

/** Such a query is made once more, and then goes with the workflow task that it came before. */
const askAgain = {
  async query<Input, Answer>(input: Input, next: (input: Input) => Promise<Answer>): Promise<Answer> {
    for (let asked = 1; ; asked += 1) {
      try {
        return await next(input);
      } catch (error) {
        if (!isAskAgain(error) || asked === mostAsked) throw error;
      }
    }
  },
};

/** Of every client of vmflow. */
export const clientInterceptors = { workflow: [askAgain] };
