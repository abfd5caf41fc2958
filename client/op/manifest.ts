import type { Document, LineCounter } from 'yaml';
import { z } from 'zod';
import type { VmopSpec } from '../../workflows/contracts/vmop.ts';
import { vmopTypes } from '../../workflows/domain/vmop/matrix.ts';
import { usageError, type CliError } from '../errors.ts';

/** Only the shape is looked at here. What is allowed together is said by the workflow and the API server, to every client. */
const manifestSchema = z.strictObject({
  apiVersion: z.literal('virtualization.deckhouse.io/v1alpha2'),
  kind: z.literal('VirtualMachineOperation'),
  metadata: z
    .strictObject({
      name: z.string().min(1).exactOptional(),
      generateName: z.string().min(1).exactOptional(),
      namespace: z.string().min(1).exactOptional(),
    })
    .default({}),
  spec: z.strictObject({
    type: z.enum(vmopTypes),
    virtualMachineName: z.string().min(1),
    force: z.boolean().exactOptional(),
    migrate: z.strictObject({ nodeSelector: z.record(z.string(), z.string()).exactOptional() }).exactOptional(),
    restore: z.record(z.string(), z.unknown()).exactOptional(),
    clone: z.record(z.string(), z.unknown()).exactOptional(),
  }) satisfies z.ZodType<VmopSpec>,
});

export type Manifest = z.infer<typeof manifestSchema>;

/** The manifests in a file of YAML or JSON documents. `shown` names the file in errors, which have line and column. */
export async function readManifests(text: string, shown: string): Promise<readonly Manifest[]> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, merge: true });
  // A separator at the end begins a document with nothing in it.
  const full = [...documents].filter((document) => document.errors.length > 0 || document.toJS() !== null);
  if (full.length === 0) throw usageError(`${shown}: no operation in it`, undefined, 'FILE');
  return full.map((document) => readManifest(document, lines, shown));
}

function readManifest(document: Document, lines: LineCounter, shown: string): Manifest {
  const [problem] = document.errors;
  if (problem !== undefined) throw fileError(`${shown}: ${problem.message}`);
  const parsed = manifestSchema.safeParse(document.toJS());
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) =>
      `${shown}:${placeOf(document, lines, path)}: ${path.map(String).join('.') || 'document'}: ${message}`,
  );
  throw fileError(problems.join('\n'));
}

function fileError(message: string): CliError {
  return usageError(message, 'vmflow op create --help shows one; kubectl explain vmop tells the fields', 'FILE');
}

/** `line:column` of the innermost part of the path that is there. */
function placeOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): string {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    const start = (node as { readonly range?: readonly [number, number, number] | null } | undefined)?.range?.[0];
    if (start === undefined) continue;
    const { line, col } = lines.linePos(start);
    return `${String(line)}:${String(col)}`;
  }
  return '1:1';
}
