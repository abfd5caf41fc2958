import { Refusal } from './answers.ts';
import type { OperationView } from './operations.ts';
import type { Route } from './routes.ts';

/** What is under way. */
export const operationRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/1.0/operations',
    handle: ({ server, project, query }) => {
      const groups: Record<string, (OperationView | string)[]> = {};
      for (const view of server.operations.list(project))
        (groups[view.status.toLowerCase()] ??= []).push(
          query['recursion'] === '1' ? view : `/1.0/operations/${view.id}`,
        );
      return { kind: 'sync', metadata: groups };
    },
  },
  {
    method: 'GET',
    path: '/1.0/operations/:id',
    handle: ({ server, params }) => ({ kind: 'sync', metadata: known(server.operations.find(params['id'] ?? '')) }),
  },
  {
    method: 'GET',
    path: '/1.0/operations/:id/wait',
    handle: async ({ server, params, query }) => {
      const timeoutMs = Number(query['timeout'] ?? '-1') * 1_000;
      return { kind: 'sync', metadata: known(await server.operations.wait(params['id'] ?? '', timeoutMs)) };
    },
  },
  {
    method: 'DELETE',
    path: '/1.0/operations/:id',
    handle: ({ server, params }) => {
      known(server.operations.find(params['id'] ?? ''));
      throw new Refusal(400, "This operation can't be cancelled");
    },
  },
];

function known(view: OperationView | undefined): OperationView {
  if (view === undefined) throw new Refusal(404, 'Operation not found');
  return view;
}
