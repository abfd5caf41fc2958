import { DefaultFailureConverter } from '@temporalio/common';

/** Messages and stacks of failures become payloads, so that a codec encrypts them like everything else. Found by this name by the SDK. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
