const [s, min, h] = [1_000, 60_000, 3_600_000];

/** Milliseconds: operations last from seconds to days, and the SDK's own buckets end long before. */
export const histogramBucketOverrides = {
  vmflow_operation_duration: [s, 5 * s, 15 * s, min, 5 * min, 15 * min, h, 4 * h, 24 * h, 7 * 24 * h],
};
