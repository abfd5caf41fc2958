import { Client, Connection } from '@temporalio/client';
import { namespace, startTemporal, type TemporalServer } from '../stack/temporal.ts';
import { clientInterceptors } from '../../workflows/contracts/ask-again.ts';

export interface TemporalUnderTest {
  readonly address: string;
  readonly namespace: string;
  readonly client: Client;
  /** Only where the test has a server of its own. */
  readonly server?: TemporalServer;
  stop(): Promise<void>;
}

/** The run's shared Temporal server, or one of its own where a test file runs alone or asks for one. */
export async function connectTemporal(
  options: {
    readonly own?: boolean;
    readonly dbFile?: true;
    readonly ui?: boolean;
    readonly uiPort?: number;
    readonly codecEndpoint?: string;
    readonly dynamicConfig?: readonly string[];
  } = {},
): Promise<TemporalUnderTest> {
  const shared = options.own === true ? undefined : process.env['VMFLOW_TEST_TEMPORAL'];
  const server =
    shared === undefined
      ? await startTemporal({
          ui: options.ui === true,
          ...(options.uiPort === undefined ? {} : { uiPort: options.uiPort }),
          ...(options.codecEndpoint === undefined ? {} : { codecEndpoint: options.codecEndpoint }),
          ...(options.dbFile === undefined ? {} : { dbFile: options.dbFile }),
          ...(options.dynamicConfig === undefined ? {} : { dynamicConfig: options.dynamicConfig }),
        })
      : undefined;
  const address = shared ?? server?.address ?? '';
  const connection = await Connection.connect({ address });
  return {
    address,
    namespace,
    client: new Client({ connection, namespace, interceptors: clientInterceptors }),
    ...(server === undefined ? {} : { server }),
    async stop() {
      await connection.close();
      await server?.stop();
    },
  };
}
