/** All that a program has of its language. What is left out could see a clock, make code from texts, or outlive the call. */
const globals = [
  ...['globalThis', 'undefined', 'NaN', 'Infinity'],
  ...['Object', 'Array', 'String', 'Number', 'Boolean', 'BigInt', 'Symbol', 'Math', 'JSON', 'RegExp', 'Map', 'Set'],
  ...['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError', 'AggregateError'],
  ...['InternalError', 'Iterator'],
  ...['parseInt', 'parseFloat', 'isNaN', 'isFinite'],
  ...['encodeURIComponent', 'decodeURIComponent', 'encodeURI', 'decodeURI'],
];

/**
 * Runs in the interpreter in front of each program, when the host functions are there already. Gives a function that makes a
 * frozen value of JSON. What it needs later it takes before the program can change it.
 */
export function prelude(hostFunctions: readonly string[]): string {
  const kept = JSON.stringify([...globals, ...hostFunctions]);
  return `(() => {
  'use strict';
  const { getOwnPropertyNames, getPrototypeOf, defineProperty, freeze, values } = Object;
  const { parse, stringify } = JSON;
  const text = String;
  const kept = new Set(${kept});
  for (const name of getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name];
  delete Math.random;
  for (const code of [function () {}, async function () {}, function* () {}, async function* () {}])
    defineProperty(getPrototypeOf(code), 'constructor', { value: undefined, writable: false, configurable: false });
  for (const name of ['log_info', 'log_warn', 'log_error']) {
    const log = globalThis[name];
    globalThis[name] = (...parts) => {
      let line = '';
      for (let i = 0; i < parts.length; i += 1)
        line += (i === 0 ? '' : ' ') + (typeof parts[i] === 'object' ? stringify(parts[i]) : text(parts[i]));
      log(line);
    };
  }
  const frozen = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    for (const part of values(value)) frozen(part);
    return freeze(value);
  };
  return (json) => frozen(parse(json));
})()`;
}
