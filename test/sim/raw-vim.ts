import * as http from 'node:http';
import * as https from 'node:https';

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** The least of a vim25 client, for tests of the stack itself: XML in, XML out, one cookie. */
export interface RawVim {
  call(method: string, self: string, body?: string): Promise<RawAnswer>;
  login(username: string, password: string): Promise<RawAnswer>;
  /** Sends this many bytes with a Content-Length, as slowly as the other side reads. */
  upload(url: string, bytes: number, options?: { readonly signal?: AbortSignal }): Promise<RawAnswer>;
  close(): void;
}

/** `self` is `<Type>:<value>`, e.g. `VirtualMachine:vm-42`. Any certificate is accepted. */
export function rawVim(url: string): RawVim {
  const agent = url.startsWith('https:')
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: false })
    : new http.Agent({ keepAlive: true });
  let cookie: string | undefined;

  const call = async (method: string, self: string, body = ''): Promise<RawAnswer> => {
    const [type = '', value = ''] = self.split(/:(.*)/s);
    const envelope =
      '<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ' +
      'xmlns:xsd="http://www.w3.org/2001/XMLSchema"><Body>' +
      `<${method} xmlns="urn:vim25"><_this type="${type}">${value}</_this>${body}</${method}></Body></Envelope>`;
    const headers = { 'content-length': Buffer.byteLength(envelope), ...(cookie === undefined ? {} : { cookie }) };
    const request = send(url, { method: 'POST', agent, headers });
    request.end(envelope);
    const answer = await answerOf(request);
    cookie = answer.cookie ?? cookie;
    return answer;
  };

  return {
    call,
    login: (username, password) =>
      call(
        'Login',
        'SessionManager:SessionManager',
        `<userName>${username}</userName><password>${password}</password>`,
      ),
    async upload(to, bytes, options = {}) {
      const headers = { 'content-length': bytes, 'content-type': 'application/x-vnd.vmware-streamVmdk' };
      const request = send(to, { method: 'POST', agent, headers, ...options });
      void fill(request, bytes);
      return answerOf(request);
    },
    close: () => agent.destroy(),
  };
}

function send(url: string, options: https.RequestOptions): http.ClientRequest {
  return url.startsWith('https:') ? https.request(url, options) : http.request(url, options);
}

async function fill(request: http.ClientRequest, bytes: number): Promise<void> {
  const chunk = Buffer.alloc(64 * 1024, 7);
  for (let left = bytes; left > 0 && !request.destroyed; left -= chunk.length) {
    const part = chunk.subarray(0, Math.min(left, chunk.length));
    await new Promise<void>((resolve) => request.write(part, () => resolve()));
  }
  request.end();
}

function answerOf(request: http.ClientRequest): Promise<RawAnswer & { readonly cookie?: string }> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      const cookie = response.headers['set-cookie']?.[0]?.split(';')[0];
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, ...(cookie === undefined ? {} : { cookie }) }),
      );
    });
  });
}
