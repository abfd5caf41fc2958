import type { Channel, ChannelAnswer } from './channel.ts';
import { pause, untilAborted } from './deadline.ts';
import { withoutSecrets } from './fault-info.ts';
import { VimFault, VSphereError } from './faults.ts';
import { isGatewayStatus } from './http-exchange.ts';
import type { VSphereLog } from './log.ts';
import type { About, CallOptions, MoRef, VCenterEndpoint } from './port.ts';
import { isReadOnly } from './read-only.ts';
import type { RejectedCredentials } from './rejected-credentials.ts';
import type { Method } from './vim25/table.ts';

const limits = {
  /** Default of `apiTimeoutMs`. */
  callMs: 60_000,
  /** Tries of a read-only call in all, and the time after which no further one is begun. */
  readTries: 3,
  readRetryWindowMs: 2_000,
  readRetryPauseMs: 100,
  logoutMs: 5_000,
} as const;

/** The references and facts that every session starts from. */
export interface ServiceContent {
  readonly about: About;
  readonly rootFolder: MoRef;
  readonly propertyCollector: MoRef;
  readonly sessionManager: MoRef;
  readonly searchIndex: MoRef;
  readonly ovfManager: MoRef;
  readonly viewManager?: MoRef;
}

export interface CoreCallOptions extends CallOptions {
  /**
   * What a dead session means: `again` (default) logs in and replays the call once; `fail` lets NotAuthenticated out, for
   * calls on objects that died with the session.
   */
  readonly onDeadSession?: 'again' | 'fail';
  readonly rawXml?: string;
}

export function isFault(error: unknown, ...types: readonly string[]): error is VimFault {
  return error instanceof VimFault && types.includes(error.faultType);
}

const serviceInstance: MoRef = { type: 'ServiceInstance', value: 'ServiceInstance' };

function isTransient(error: unknown): boolean {
  if (!(error instanceof VSphereError)) return false;
  return error.code === 'TRANSPORT' || (error.code === 'HTTP' && isGatewayStatus(error.info.httpStatus ?? 0));
}

/**
 * One login at one vCenter: cookie, single-flight login, replay after a lost session, short repetition of reads. Logs in with
 * the first call that needs it.
 */
export class SessionCore {
  readonly endpoint: VCenterEndpoint;
  readonly #channel: Channel;
  readonly #rejected: RejectedCredentials;
  readonly #log: VSphereLog;
  #content: Promise<ServiceContent> | undefined;
  #cookie: string | undefined;
  #login: Promise<void> | undefined;
  #logins = 0;
  #closed = false;

  constructor(endpoint: VCenterEndpoint, channel: Channel, rejected: RejectedCredentials, log: VSphereLog) {
    this.endpoint = endpoint;
    this.#channel = channel;
    this.#rejected = rejected;
    this.#log = log;
  }

  get isLoggedIn(): boolean {
    return this.#cookie !== undefined;
  }

  /** Logs in where needed. Answers which login is in force: a caller that finds it dead tells `renew`. */
  async logIn(options: CallOptions = {}): Promise<number> {
    await this.#ensureLogin(options);
    return this.#logins;
  }

  /** Needs no login. Refuses anything that is not a vCenter. */
  content(options: CallOptions = {}): Promise<ServiceContent> {
    this.#content ??= this.#readContent().catch((error: unknown) => {
      this.#content = undefined;
      throw error;
    });
    return untilAborted(this.#content, options.signal);
  }

  async call(method: Method, args: Readonly<Record<string, unknown>>, options: CoreCallOptions = {}): Promise<unknown> {
    return (await this.callRaw(method, args, options)).value;
  }

  /** Like `call`, with the raw answer besides the value. */
  async callRaw(
    method: Method,
    args: Readonly<Record<string, unknown>>,
    options: CoreCallOptions = {},
  ): Promise<ChannelAnswer> {
    const generation = options.onDeadSession === 'fail' ? this.#logins : await this.logIn(options);
    try {
      return await this.#send(method, args, options);
    } catch (error) {
      if (!isFault(error, 'NotAuthenticated')) throw error;
      if (options.onDeadSession === 'fail') {
        this.#forget(generation);
        throw error;
      }
      // Not executed, so even a mutating call may be sent again.
      await this.renew(generation, options);
      return await this.#send(method, args, options);
    }
  }

  /** Sends a request beside SOAP under the login's cookie. The status 401 logs in again, and the request is sent once more. */
  async withCookie<T>(send: (cookie: string) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const generation = await this.logIn(options);
    try {
      return await send(this.#cookie ?? '');
    } catch (error) {
      if (!(error instanceof VSphereError && error.info.httpStatus === 401)) throw error;
      await this.renew(generation, options);
      return await send(this.#cookie ?? '');
    }
  }

  /** Logs in again unless somebody else already has since the login number `generation`. */
  async renew(generation: number, options: CallOptions = {}): Promise<void> {
    this.#forget(generation);
    await this.#ensureLogin(options);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.#login?.catch(() => undefined);
      const cookie = this.#cookie;
      this.#cookie = undefined;
      const content = await this.#content?.catch(() => undefined);
      if (cookie !== undefined && content !== undefined) {
        const args = { _this: content.sessionManager };
        await this.#channel.call({ method: 'Logout', args, cookie, timeoutMs: limits.logoutMs });
      }
    } catch (error) {
      this.#log.debug({ vcenter: this.endpoint.name, error: messageOf(error) }, 'logout failed');
    } finally {
      this.#channel.close();
    }
  }

  #forget(generation: number): void {
    // A cookie of a dead session must not be sent along with Login: the server would call the password wrong.
    if (generation === this.#logins && this.#login === undefined) this.#cookie = undefined;
  }

  async #ensureLogin(options: CallOptions): Promise<void> {
    if (this.#closed) {
      const message = `The session with vCenter ${this.endpoint.name} is closed.`;
      throw new VSphereError('PROTOCOL', message, { kind: 'transport', message });
    }
    if (this.#cookie !== undefined) return;
    this.#login ??= this.#logIn().finally(() => {
      this.#login = undefined;
    });
    await untilAborted(this.#login, options.signal);
  }

  async #logIn(): Promise<void> {
    const { endpoint } = this;
    this.#rejected.check(endpoint);
    const { sessionManager } = await this.content();
    const args = { _this: sessionManager, userName: endpoint.user, password: endpoint.password, locale: 'en' };
    try {
      const timeoutMs = endpoint.apiTimeoutMs ?? limits.callMs;
      const { cookie } = await this.#channel.call({ method: 'Login', args, cookie: undefined, timeoutMs });
      if (cookie === undefined) throw protocolError(endpoint, 'Login', 'the answer to Login carries no session cookie');
      this.#cookie = cookie;
      this.#logins += 1;
    } catch (error) {
      throw this.#rejected.note(endpoint, error);
    }
  }

  async #readContent(): Promise<ServiceContent> {
    const { endpoint } = this;
    const value = await this.#send('RetrieveServiceContent', { _this: serviceInstance }, {}, undefined);
    const content = value.value as Partial<ServiceContent> | undefined;
    const { about, rootFolder, propertyCollector, sessionManager, searchIndex, ovfManager, viewManager } =
      content ?? {};
    if (about !== undefined && about.apiType !== 'VirtualCenter') {
      const message = `${endpoint.name} (${new URL(endpoint.url).host}) is a ${about.apiType}, not a vCenter.`;
      throw new VSphereError('NOT_VCENTER', message, { kind: 'lookup', message });
    }
    if (!about || !rootFolder || !propertyCollector || !sessionManager || !searchIndex || !ovfManager) {
      throw protocolError(endpoint, 'RetrieveServiceContent', 'the service content is incomplete');
    }
    this.#channel.speak(about.apiVersion);
    const needed = { about, rootFolder, propertyCollector, sessionManager, searchIndex, ovfManager };
    return viewManager === undefined ? needed : { ...needed, viewManager };
  }

  async #send(
    method: Method,
    args: Readonly<Record<string, unknown>>,
    options: CoreCallOptions,
    cookie = this.#cookie,
  ): Promise<ChannelAnswer> {
    const { signal, rawXml } = options;
    const timeoutMs = options.timeoutMs ?? this.endpoint.apiTimeoutMs ?? limits.callMs;
    const call = { method, args, cookie, signal, timeoutMs, ...(rawXml === undefined ? {} : { rawXml }) };
    const begun = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#channel.call(call);
      } catch (error) {
        const late = performance.now() - begun > limits.readRetryWindowMs - limits.readRetryPauseMs * attempt;
        if (!isReadOnly(method) || !isTransient(error) || attempt >= limits.readTries || late) throw error;
        this.#log.debug({ vcenter: this.endpoint.name, method, attempt, error: messageOf(error) }, 'reading again');
        await pause(limits.readRetryPauseMs * attempt, signal);
      }
    }
  }
}

export function protocolError(endpoint: VCenterEndpoint, method: string, what: string): VSphereError {
  const message = `vCenter ${endpoint.name} broke the protocol in ${method}: ${what}.`;
  return new VSphereError('PROTOCOL', message, { kind: 'transport', method, message });
}

export function messageOf(error: unknown): string {
  return withoutSecrets(error instanceof Error ? error.message : String(error));
}

/** A reference as it stands in errors; a lease's value holds the session key and is left out. */
export function describeRef(ref: MoRef): string {
  return ref.type === 'HttpNfcLease' ? ref.type : `${ref.type}:${ref.value}`;
}
