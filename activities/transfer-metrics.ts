import { Context } from '@temporalio/activity';

/** Of an attempt of an activity: counts bytes that it sends to a far side, with the worker's other metrics. */
export function byteCounter(transfer: 'template-upload' | 'disk-copy'): (bytes: number) => void {
  const counter = Context.current().metricMeter.createCounter(
    'vmflow_transfer_bytes',
    'By',
    'Bytes sent to far sides, those of attempts that failed among them',
  );
  return (bytes) => {
    if (bytes > 0) counter.add(bytes, { transfer });
  };
}
