import { withoutSecrets } from './fault-info.ts';
import { VimFault } from './faults.ts';
import { decode, xsiType } from './vim25/decode.ts';

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const text = (value: unknown): string => {
  const plain = isObject(value) ? value['$value'] : value;
  return typeof plain === 'string' ? plain : '';
};

const housekeeping = new Set(['_type', 'faultCause', 'faultMessage']);

function fieldsOf(fault: unknown): Record<string, unknown> {
  return isObject(fault) ? Object.fromEntries(Object.entries(fault).filter(([name]) => !housekeeping.has(name))) : {};
}

/** `InvalidArgument (invalidProperty: name)`: the fields that tell an operator what was wrong. */
function describe(faultType: string, fields: Readonly<Record<string, unknown>>): string {
  const plain = Object.entries(fields).filter(([, value]) => typeof value === 'string' && value !== '');
  return plain.length === 0
    ? faultType
    : `${faultType} (${plain.map(([name, value]) => `${name}: ${value as string}`).join(', ')})`;
}

function build(init: {
  kind: VimFault['kind'];
  faultType: string;
  fields: Record<string, unknown>;
  method: string;
  moRef?: string | undefined;
  serverText: string;
}): VimFault {
  const what = describe(init.faultType, init.fields);
  const suffix = init.serverText === '' || init.serverText === init.faultType ? '' : `: ${init.serverText}`;
  const message = `${init.method}${init.moRef === undefined ? '' : ` on ${init.moRef}`} failed with ${what}${suffix}`;
  // The server's own words may name an upload's address.
  return new VimFault({ ...init, message: withoutSecrets(message) });
}

/** Reads `Envelope.Body.Fault` as node-soap parsed it; undefined when there is no fault in it. */
export function decodeSoapFault(root: unknown, method: string, moRef?: string): VimFault | undefined {
  const envelope = isObject(root) ? root['Envelope'] : undefined;
  const body = isObject(envelope) ? envelope['Body'] : undefined;
  const fault = isObject(body) ? body['Fault'] : undefined;
  if (!isObject(fault)) return undefined;
  const detail = isObject(fault['detail']) ? fault['detail'] : {};
  const [name, node] = Object.entries(detail).find(([key]) => key !== 'attributes') ?? ['', undefined];
  const faultType = xsiType(node) ?? (name.replace(/Fault$/, '') || text(fault['faultcode']) || 'UnknownFault');
  const fields = fieldsOf(decode('MethodFault', node));
  return build({ kind: 'vim-fault', faultType, fields, method, moRef, serverText: text(fault['faultstring']) });
}

/** Turns a decoded `LocalizedMethodFault` of a task or a lease into an error; undefined when it names no fault. */
export function faultOf(
  localized: unknown,
  context: { kind: VimFault['kind']; method: string; moRef?: string | undefined },
): VimFault | undefined {
  const fault = isObject(localized) ? localized['fault'] : undefined;
  if (!isObject(localized) || !isObject(fault)) return undefined;
  const faultType = typeof fault['_type'] === 'string' ? fault['_type'] : 'MethodFault';
  return build({ ...context, faultType, fields: fieldsOf(fault), serverText: text(localized['localizedMessage']) });
}
