import type { Step } from '../../workflows/contracts/status.ts';
import { LiveBlock } from '../output/live.ts';
import { stepLooks } from '../output/steps.ts';
import { knowsHyperlinks, hyperlink } from '../links.ts';
import { formatSince } from '../output/units.ts';
import type { Sink } from '../runtime.ts';
import type { Session } from '../session.ts';
import { nextCommands, renderTemplate, transferText } from './render.ts';
import type { TemplateView, TransferView } from './view.ts';

export type Show = (view: TemplateView) => void;

/** Draws the whole state in place on a terminal, else prints one line per step or per 10 %. */
export function progressOn(session: Session, sink: Sink): Show {
  return sink.isTTY ? liveBlock(session, sink) : stepLines(session, sink);
}

function liveBlock(session: Session, sink: Sink): Show {
  const block = new LiveBlock(sink);
  const paint = sink === session.runtime.stdout ? session.paint : session.paintErr;
  const showLink = (url: string): string => (knowsHyperlinks(session.runtime.env) ? hyperlink(url) : url);
  return (view) =>
    block.draw(renderTemplate(view, { paint, time: session.flags.time, now: session.runtime.now(), showLink }));
}

/** A line of a log, printed again only when its mark changes. */
interface Fact {
  readonly key: string;
  readonly mark: string;
  readonly line: string;
}

/** Lines for a log: what has changed since the last look, nothing else. */
export function stepLines(session: Session, sink: Sink): Show {
  let before = new Map<string, string>();
  return (view) => {
    const facts = factsOf(view, session);
    for (const { key, mark, line } of facts) {
      if (before.get(key) !== mark) sink.write(`${view.name}: ${line}\n`);
    }
    before = new Map(facts.map(({ key, mark }) => [key, mark]));
  };
}

function factsOf(view: TemplateView, session: Session): Fact[] {
  const { conflict, warnings = [] } = view;
  const hasActiveStep = view.steps.some(({ state }) => state === 'active');
  return [
    ...view.steps.flatMap(stepFact),
    ...(view.transfer === undefined ? [] : [transferFact(view.transfer, session)]),
    ...(conflict === undefined ? [] : [fact('conflict', `conflict ${conflict.code}: ${conflict.what}`)]),
    ...waitingFact(view, session),
    ...(hasActiveStep ? [] : [fact('phase', view.phase)]),
    ...warnings.map((warning) => fact(warning, `warning: ${warning}`)),
  ];
}

function fact(key: string, line: string, mark = line): Fact {
  return { key, line, mark };
}

function stepFact({ id, state, title, detail }: Step): Fact[] {
  if (state === 'pending' || state === 'skipped') return [];
  const why = state === 'failed' && detail !== undefined ? ` (${detail})` : '';
  return [fact(`step ${id}`, `${stepLooks[state].word} ${title}${why}`)];
}

/** Every 10 %, and when a stall or another attempt begins or ends. */
function transferFact(transfer: TransferView, session: Session): Fact {
  const { sentBytes, totalBytes, attempt, stalledMs, nextAttemptAt, phase } = transfer;
  const tenth = sentBytes === undefined || !totalBytes ? 'start' : Math.floor((sentBytes / totalBytes) * 10);
  const mark = [phase, attempt, tenth, stalledMs !== undefined, nextAttemptAt].join(' ');
  const text = transferText(transfer, { time: session.flags.time, now: session.runtime.now() });
  return fact('transfer', text === '' ? `${transfer.activity} running` : text, mark);
}

/** For what, since when, until when, and the command that ends it. */
function waitingFact(view: TemplateView, { flags, runtime }: Session): Fact[] {
  if (view.waitingFor === undefined) return [];
  const shown = (iso: string): string => formatSince(iso, flags.time, runtime.now());
  const until = view.deadline === undefined ? 'no deadline' : `until ${shown(view.deadline)}`;
  const since = view.since === undefined ? '' : ` since ${shown(view.since)}`;
  const [command] = nextCommands(view);
  return [
    fact(
      'waiting',
      `waiting for ${view.waitingFor}${since}, ${until}${command === undefined ? '' : `; ends with: ${command}`}`,
      // Ages change all the time; the line is worth another only when what it tells does.
      [view.waitingFor, view.since, view.deadline, command].join(' '),
    ),
  ];
}
