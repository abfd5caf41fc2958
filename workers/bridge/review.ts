import { z } from 'zod';
import { vmopTypes } from '../../workflows/domain/vmop/matrix.ts';
import type { VmopSpec } from '../../workflows/contracts/vmop.ts';

/** What the API server asks about one object that is about to be created. */
export interface Review {
  /** Repeated in the answer. */
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: VmopSpec;
  readonly dryRun: boolean;
}

/** As much of an AdmissionReview as we read. The schema of the object has been checked before we are asked. */
const admissionReview = z.object({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.object({
    uid: z.string().min(1),
    operation: z.literal('CREATE'),
    namespace: z.string().min(1),
    dryRun: z.boolean().default(false),
    object: z.object({
      metadata: z.object({ name: z.string().default('') }),
      spec: z.object({
        type: z.enum(vmopTypes),
        virtualMachineName: z.string().min(1),
        force: z.boolean().exactOptional(),
        migrate: z.object({ nodeSelector: z.record(z.string(), z.string()).exactOptional() }).exactOptional(),
      }),
    }),
  }),
});

/** Fails with a sentence that says what isn't as it should be. */
export function parseReview(text: string): Review {
  const parsed = admissionReview.safeParse(parseJson(text));
  if (!parsed.success)
    throw new Error(
      `The request is no admission review for the creation of a VirtualMachineOperation: ${z.prettifyError(parsed.error)}`,
    );
  const { uid, namespace, dryRun, object } = parsed.data.request;
  return { uid, namespace, name: object.metadata.name, spec: object.spec, dryRun };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Answer = { readonly allowed: true } | { readonly allowed: false; readonly code: number; readonly message: string };

/** A refusal names its code: without one the person would get 400. */
export function reviewAnswer(uid: string, answer: Answer): object {
  const status = answer.allowed ? {} : { status: { code: answer.code, reason: 'Forbidden', message: answer.message } };
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid, allowed: answer.allowed, ...status },
  };
}
