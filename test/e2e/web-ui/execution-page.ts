import type { Locator, Page } from 'playwright-core';

/** The Web UI's page of one execution, as a person uses it. Selectors are those of Web UI 2.42. */
export class ExecutionPage {
  readonly #page: Page;
  readonly #link: string;

  /** `link` as the CLI prints it. */
  constructor(page: Page, link: string) {
    this.#page = page;
    this.#link = link;
  }

  async open(): Promise<void> {
    await this.#page.goto(this.#link);
    await this.#page.getByTestId('workflow-id-heading').waitFor();
  }

  async heading(): Promise<string> {
    return (await this.#page.getByTestId('workflow-id-heading').innerText()).trim();
  }

  /** Opens the page again and reads the summary, the fixed and the current details, all as rendered. */
  async metadata(): Promise<Metadata> {
    await this.#tab('user-metadata-tab');
    const [summary, details] = [this.#rendered('Summary', within), this.#rendered('Details', within)];
    const current = this.#rendered('Current Details', 'following::iframe[1]');
    await current.body.locator('p').first().waitFor();
    // What an execution was not given is no pane but a remark.
    const given: Pane[] = [];
    for (const pane of [summary, details]) if ((await pane.element.count()) > 0) given.push(pane);
    const textOf = async (pane: Pane): Promise<string> => (given.includes(pane) ? await pane.body.innerText() : '');
    return {
      summary: await textOf(summary),
      details: await textOf(details),
      current: await current.body.innerText(),
      json: await current.body.locator('code.language-json').allInnerTexts(),
      cut: [...(given.includes(details) ? await cutOff(details) : []), ...(await cutOff(current))],
    };
  }

  /** Text of the pending activities, heartbeat included. */
  async pendingActivities(): Promise<string> {
    await this.#tab('pending-activities-tab');
    await this.#page.getByText('Heartbeat Details', { exact: true }).waitFor();
    return await this.#page.locator('main').last().innerText();
  }

  /** Rows of the event table, newest first. */
  async events(): Promise<string[]> {
    await this.open();
    const table = this.#page.getByTestId('event-summary-table');
    await table.getByText('Workflow Execution Started').waitFor();
    const rows = await table.getByTestId('event-summary-row').allInnerTexts();
    return rows.map((row) => row.replaceAll(/\s+/g, ' ').trim());
  }

  /** Waits until the page itself, which follows the execution, shows this status. */
  async shows(status: 'Running' | 'Completed' | 'Failed' | 'Canceled'): Promise<void> {
    await this.#page.getByText(status, { exact: true }).first().waitFor();
  }

  /** More Actions, Send an Update or Send a Signal; answers what the dialog says where it is refused. */
  async send(kind: 'update' | 'signal', name: string, json: string): Promise<string | undefined> {
    await this.open();
    await this.#choose(kind === 'update' ? 'Send an Update' : 'Send a Signal');
    const dialog = this.#dialog(kind);
    await dialog.getByTestId(`${kind}-select-button`).click();
    await dialog.getByRole('option', { name: new RegExp(`^${name}\\b`) }).click();
    await dialog.getByRole('textbox').last().fill(json);
    const alert = dialog.getByRole('alert').filter({ hasText: /\S/ });
    const over = (timeout: number): Promise<unknown> =>
      Promise.race([dialog.waitFor({ state: 'hidden', timeout }), alert.waitFor({ timeout })]);
    // While the page draws what it has decoded a click may fall beside the button; an update that is sent twice has one id.
    await dialog.getByTestId('confirm-modal-button').click();
    await over(5_000).catch(() => dialog.getByTestId('confirm-modal-button').click());
    await over(55_000);
    return (await dialog.isVisible()) ? await alert.innerText() : undefined;
  }

  async requestCancellation(): Promise<void> {
    await this.open();
    await this.#page.getByRole('button', { name: 'Request Cancellation' }).click();
    const dialog = this.#dialog('cancel');
    await dialog.getByTestId('confirm-modal-button').click();
    await dialog.waitFor({ state: 'hidden' });
  }

  async startAgain(): Promise<void> {
    await this.open();
    await this.#choose('Start Workflow Like This One');
    await this.#page.getByRole('heading', { name: 'Start a Workflow' }).waitFor();
    // The form is there before the input is.
    await this.#page.getByText('"prodName"').first().waitFor();
    await this.#page.getByTestId('start-workflow-button').last().click();
  }

  #dialog(kind: string): Locator {
    return this.#page.getByTestId(`${kind}-confirmation-modal`).and(this.#page.locator('[open]'));
  }

  async #choose(action: string): Promise<void> {
    await this.#page.getByRole('button', { name: 'More Actions' }).click();
    await this.#page.getByRole('menuitem', { name: action }).click();
  }

  async #tab(testId: string): Promise<void> {
    await this.open();
    await this.#page.getByTestId(testId).click();
  }

  #rendered(title: string, where: string): Pane {
    const element = this.#page.locator(`xpath=//h3[normalize-space()="${title}"]/${where}`);
    return { element, body: element.contentFrame().locator('main') };
  }
}

export interface Metadata {
  readonly summary: string;
  readonly details: string;
  readonly current: string;
  /** Blocks of JSON in the current details. */
  readonly json: readonly string[];
  /** Text below the edge of its pane, which a person doesn't see. */
  readonly cut: readonly string[];
}

/** From the heading of a pane that may be missing to what is rendered below it, and not to that of the next one. */
const within = 'ancestor::div[2]//iframe';

interface Pane {
  readonly element: Locator;
  readonly body: Locator;
}

async function cutOff({ element, body }: Pane): Promise<string[]> {
  const edge = await bottomOf(element);
  const cut: string[] = [];
  for (const part of await body.locator('> *').all()) {
    if ((await bottomOf(part)) > edge) cut.push(await part.innerText());
  }
  return cut.filter((text) => text !== ''); // the rule at the end has none
}

async function bottomOf(element: Locator): Promise<number> {
  const box = await element.boundingBox();
  return box === null ? 0 : box.y + box.height;
}
