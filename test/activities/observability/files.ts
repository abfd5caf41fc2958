import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

const folder = join(import.meta.dirname, '../../../workers/deploy/observability');
export const alertsPath = join(folder, 'alerts.yaml');

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
}

export async function alerts(): Promise<readonly Alert[]> {
  const { groups } = parse(await readFile(alertsPath, 'utf8')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

export interface Dashboard {
  readonly schemaVersion: number;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

export async function dashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile(join(folder, 'dashboard.json'), 'utf8')) as Dashboard;
}

export const exprsOf = ({ panels }: Dashboard): readonly string[] =>
  panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Names of metrics in an expression. */
export function metricsIn(expr: string): readonly string[] {
  const withoutTexts = expr.replaceAll(/"[^"]*"/g, '""');
  return withoutTexts.match(/\b(?:temporal|vmflow|cocoon|virtualmachineoperation)_\w+/g) ?? [];
}

/** The guide to them. */
export const readme = (): Promise<string> => readFile(join(folder, 'README.md'), 'utf8');
