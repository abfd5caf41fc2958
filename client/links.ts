/** Address of an execution in the Web UI. Ids hold `/`, so they are encoded as one segment. */
export function workflowLink(ui: string, namespace: string, workflowId: string, runId?: string): string {
  const base = `${ui.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
  return runId === undefined ? base : `${base}/${encodeURIComponent(runId)}/history`;
}

/** Terminals that turn OSC 8 into a hyperlink, by the variables they set. */
export function knowsHyperlinks(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.TERM === 'dumb' || env.CI !== undefined) return false;
  if (Number(env.VTE_VERSION ?? 0) >= 5000) return true;
  if (env.WT_SESSION !== undefined || env.KONSOLE_VERSION !== undefined || env.KITTY_WINDOW_ID !== undefined)
    return true;
  return ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper'].includes(env.TERM_PROGRAM ?? '');
}

/** Wraps a URL so that terminals which know OSC 8 make it clickable, still showing the URL itself. */
export function hyperlink(url: string): string {
  return `\u001b]8;;${url}\u001b\\${url}\u001b]8;;\u001b\\`;
}
