import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ensureDebianPackage } from '../../stack/debian.ts';

const executablePath = '/usr/bin/chromium';

/** Nothing but the page under test: no sandbox for root, no graphics card, no calls home. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser window with a profile of its own. */
export interface Browser {
  readonly page: Page;
  close(): Promise<void>;
}

/** The reason why there is no browser here; undefined where there is one. Installs Debian's where that is possible. */
export async function browserMissing(): Promise<string | undefined> {
  if (existsSync(executablePath)) return undefined;
  const isInstalled = await ensureDebianPackage(['chromium']);
  return isInstalled ? undefined : "needs Debian's chromium, which is not to be had here";
}

export async function openBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'vmflow-browser-'));
  // Tall enough that nothing which people would scroll to is out of sight.
  const viewport = { width: 1400, height: 1800 };
  const context = await chromium.launchPersistentContext(profile, { executablePath, args, viewport });
  context.setDefaultTimeout(60_000);
  return {
    page: context.pages()[0] ?? (await context.newPage()),
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
