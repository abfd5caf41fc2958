/** As the API writes it, in whole seconds, or with a fraction: one form. What is no time stays as it is. */
export function timeOf(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}
