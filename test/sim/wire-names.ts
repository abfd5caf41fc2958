/** What a request on the wire is about, read without parsing more XML than needed. */
export interface WireName {
  readonly kind: 'soap' | 'rest' | 'nfc' | 'other';
  /** SOAP method, `REST <resource> <action or verb>`, `NFC <verb>`, or `<verb> <path>`. */
  readonly method: string;
  /** Of a SOAP call: its `_this`. Of a REST or NFC request: what the path names. */
  readonly object?: { readonly type: string; readonly value: string };
}

export function wireName(verb: string, url: string, body: string): WireName {
  const { pathname, searchParams } = new URL(url, 'http://proxy');
  if (pathname.startsWith('/sdk') || pathname.startsWith('/pbm'))
    return soapName(body) ?? { kind: 'other', method: `${verb} ${pathname}` };
  if (pathname.startsWith('/nfc/')) return nfcName(verb, pathname);
  if (/^\/(rest|api)\//.test(pathname))
    return restName(verb, pathname, searchParams.get('~action') ?? searchParams.get('action'));
  return { kind: 'other', method: `${verb} ${pathname}` };
}

function soapName(body: string): WireName | undefined {
  const method = /<(?:[\w-]+:)?Body\b[^>]*>\s*<(?:[\w-]+:)?(\w+)/.exec(body)?.[1];
  if (method === undefined) return undefined;
  const [, attributes = '', value = ''] = /<(?:[\w-]+:)?_this\b([^>]*)>([^<]*)</.exec(body) ?? [];
  const type = /\btype="([^"]*)"/.exec(attributes)?.[1] ?? '';
  return { kind: 'soap', method, object: { type, value: value.trim() } };
}

function nfcName(verb: string, path: string): WireName {
  return { kind: 'nfc', method: `NFC ${verb}`, object: { type: 'file', value: path.slice(path.lastIndexOf('/') + 1) } };
}

function restName(verb: string, path: string, action: string | null): WireName {
  const parts = path.replace(/^\/(rest\/com\/vmware|api)\/(cis\/)?(tagging\/)?/, '').split('/');
  const [resource = '', id = ''] = parts;
  return { kind: 'rest', method: `REST ${resource} ${action ?? verb}`, object: { type: resource, value: id } };
}

const readOnly = new RegExp(
  '^(Retrieve|ContinueRetrieve|CancelRetrieve|CreateFilter|CreatePropertyCollector|CreateContainerView|CreateListView|CreateImportSpec|' +
    'DestroyProperty|DestroyView|WaitFor|CancelWaitFor|CheckForUpdates|Find|Query|Fetch|Validate|Parse|Login|Logout|CurrentTime|' +
    'SessionIsActive|HttpNfcLeaseGetManifest|HttpNfcLeaseProgress)',
);

/** Could this request change anything in the vCenter besides sessions and the caller's own views? */
export function isMutating({ kind, method }: WireName): boolean {
  switch (kind) {
    case 'soap':
      return !readOnly.test(method);
    case 'rest':
      return !/^REST session |^REST \S* (GET|list-\S*)$/.test(method);
    case 'nfc':
    case 'other':
      return !/(^| )(GET|HEAD)( |$)/.test(method);
    default:
      throw new Error(`unknown kind ${JSON.stringify(kind satisfies never)}`);
  }
}

/** A SOAP fault as the simulator sends it. `fields` is raw XML in the order of the type's elements. */
export function soapFault(
  fault: string,
  { fields = '', message = '' }: { fields?: string; message?: string } = {},
): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode>' +
    `<faultstring>${message}</faultstring><detail><${fault}Fault xmlns="urn:vim25" xsi:type="${fault}">${fields}</${fault}Fault>` +
    '</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>'
  );
}
