import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { Desire, RequestHibernationInput } from '../../workflows/contracts/hibernation-request.ts';
import { hibernationRequestId } from '../../workflows/contracts/ids.ts';
import { code, codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { StartRequest } from '../gateway.ts';
import type { Session } from '../session.ts';

/** Values of search attributes end at 255 bytes, summaries at 200. */
const longestAttribute = 255;
const longestSummary = 200;

/** What is wanted of a VM. */
export interface Wish {
  readonly desire: Desire;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** The request for one Pod. A dry run has an id of its own: it must not be taken for a real one. */
export function hibernationStart(
  session: Session,
  { namespace, podName }: { readonly namespace: string; readonly podName: string },
  { desire, reason, dryRun = false }: Wish,
): StartRequest {
  const by = session.runtime.user();
  const input: RequestHibernationInput = {
    ...{ namespace, podName, desire, by },
    ...(reason === undefined ? {} : { reason }),
    ...(dryRun ? { dryRun } : {}),
  };
  const kind: OperationKind = 'hibernation-request';
  const pod = dryRun ? `${podName}~dry-run-${session.runtime.random()}` : podName;
  const verb = desire.toLowerCase();
  return {
    type: 'requestHibernation',
    workflowId: hibernationRequestId(namespace, pod, desire),
    args: [input],
    summary: cutToBytes(`${verb} ${namespace}/${podName}${dryRun ? ' (dry run)' : ''}`, longestSummary),
    details: pane([
      `${desire === 'Wake' ? 'Wakes' : 'Hibernates'} the VM of Pod ${code(`${namespace}/${podName}`)}, asked by ${plain(by)}.`,
      ...(reason === undefined ? [] : [plain(reason)]),
      codeBlock(`vmflow ${desire === 'Wake' ? 'hibernate' : 'wake'} pod/${podName} -n ${namespace}`),
    ]),
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${podName}`, longestAttribute) },
    ],
  };
}
