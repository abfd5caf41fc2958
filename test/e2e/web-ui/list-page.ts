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
    await this.#configure();
    for (const name of names) {
      await this.#page.getByTestId(`orderable-list-item-${name}`).getByRole('button').click();
      await this.#page.getByTestId(`workflows-summary-table-header-cell-${name}`).waitFor();
    }
  }

  /** Takes them out, as a person does. */
  async removeColumns(names: readonly string[]): Promise<void> {
    await this.#configure();
    for (const name of names) {
      await this.#page.getByTestId(`orderable-list-item-${name}-remove-button`).click();
      await this.#page.getByTestId(`workflows-summary-table-header-cell-${name}`).waitFor({ state: 'detached' });
    }
  }

  /** Cells by column of every execution that the filter finds, once there are `count` of them. */
  async rows(filter: string, count: number): Promise<Record<string, string>[]> {
    await this.#page.goto(`${this.#url}?query=${encodeURIComponent(filter)}`);
    return await this.#shown(count);
  }

  /** The same with the filter typed into the page. */
  async filterBy(filter: string, count: number): Promise<Record<string, string>[]> {
    await this.#page.goto(this.#url);
    await this.#page.getByTestId('toggle-manual-query').click();
    const input = this.#page.getByTestId('manual-search-input');
    await input.fill(filter);
    await input.press('Enter');
    await this.#page.waitForURL((url) => url.searchParams.get('query') === filter);
    await this.#page.getByTestId('workflows-summary-configurable-table-row').nth(count).waitFor({ state: 'detached' });
    return await this.#shown(count);
  }

  /** Clicks on an execution that is shown; answers the address of its page. */
  async follow(workflowId: string): Promise<string> {
    await this.#page.getByRole('link', { name: workflowId, exact: true }).click();
    await this.#page.getByTestId('workflow-id-heading').waitFor();
    return this.#page.url();
  }

  async #configure(): Promise<void> {
    await this.#page.goto(this.#url);
    await this.#page.getByTestId('workflows-summary-table-configuration-button').click();
  }

  async #shown(count: number): Promise<Record<string, string>[]> {
    const rows = this.#page.getByTestId('workflows-summary-configurable-table-row');
    await rows.nth(count - 1).waitFor();
    const heads = await this.#page.locator('[data-testid^="workflows-summary-table-header-cell-"]').allInnerTexts();
    const cells = await Promise.all(
      (await rows.all()).map((row) => row.getByTestId('workflows-summary-table-body-cell').allInnerTexts()),
    );
    return cells.map((row) => Object.fromEntries(heads.map((head, i) => [head.trim(), row[i]?.trim() ?? ''])));
  }
}
