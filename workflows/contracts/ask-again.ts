/** What a query fails with whose worker could not tell the state of the workflow just then. */
export const askAgainMessage = 'its worker is just taking it up: ask again';

const mostAsked = 5;

/** Interceptor of clients: such a query is made once more, and then goes with the workflow task that it came before. */
export const askAgain = {
  async query<Input, Answer>(input: Input, next: (input: Input) => Promise<Answer>): Promise<Answer> {
    for (let asked = 1; ; asked += 1) {
      try {
        return await next(input);
      } catch (error) {
        const isEarly = error instanceof Error && error.message.includes(askAgainMessage);
        if (!isEarly || asked === mostAsked) throw error;
      }
    }
  },
};
