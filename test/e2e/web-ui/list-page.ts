import type { Page } from 'playwright-core';

/** The Web UI's list of executions with columns of search attributes. Selectors are those of Web UI 2.42. */
export class ListPage {
  readonly #page: Page;
  readonly #url: string;

  constructor(page: Page, uiUrl: string, namespace: string) {
    this.#page = page;
    this.#url = `${uiUrl}/namespaces/${namespace}/workflows`;
  }

  /** Adds columns as a person does; the browser remembers them. */
  async addColumns(names: readonly string[]): Promise<void> {
    await this.#page.goto(this.#url);
    await this.#page.getByTestId('workflows-summary-table-configuration-button').click();
    for (const name of names) {
      await this.#page.getByTestId(`orderable-list-item-${name}`).getByRole('button').click();
      await this.#page.getByTestId(`workflows-summary-table-header-cell-${name}`).waitFor();
    }
  }

  /** Cells by column of every execution that the filter finds, once there are `count` of them. */
  async rows(filter: string, count: number): Promise<Record<string, string>[]> {
    await this.#page.goto(`${this.#url}?query=${encodeURIComponent(filter)}`);
    const rows = this.#page.getByTestId('workflows-summary-configurable-table-row');
    await rows.nth(count - 1).waitFor();
    const heads = await this.#page.locator('[data-testid^="workflows-summary-table-header-cell-"]').allInnerTexts();
    const cells = await Promise.all(
      (await rows.all()).map((row) => row.getByTestId('workflows-summary-table-body-cell').allInnerTexts()),
    );
    return cells.map((row) => Object.fromEntries(heads.map((head, i) => [head.trim(), row[i]?.trim() ?? ''])));
  }

  /** Clicks on an execution that is shown; answers the address of its page. */
  async follow(workflowId: string): Promise<string> {
    await this.#page.getByRole('link', { name: workflowId, exact: true }).click();
    await this.#page.getByTestId('workflow-id-heading').waitFor();
    return this.#page.url();
  }
}
