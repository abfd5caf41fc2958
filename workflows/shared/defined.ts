/** An object with this one field, or without it where there is no value: for optional fields that must not be undefined. */
export function defined<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}
