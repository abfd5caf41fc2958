import type { Field } from './field.ts';
import { field, rowOf } from './field.ts';
import type { FieldText, OperationRow, TypeRow } from './table.ts';
import { operations } from './table.ts';

/** Whatever is no object is text here: from typed leaves the SOAP library would make `Date`s and rounded numbers. */
function wsdlType({ type, open }: Field): string {
  // A subtype's own fields would be sorted behind the base's: an open field must not be typed.
  if (open || type === 'any') return 's:anyType';
  if (type === 'ref') return 'tns:ManagedObjectReference';
  return rowOf(type) === undefined ? 's:string' : `tns:${type}`;
}

function element(name: string, text: FieldText): string {
  const described = field(text);
  const occurrence = { one: '', optional: ' minOccurs="0"', many: ' minOccurs="0" maxOccurs="unbounded"' };
  return `<s:element name="${name}" type="${wsdlType(described)}"${occurrence[described.occurs]}/>`;
}

const sequence = (row: TypeRow): string =>
  `<s:sequence>${Object.entries(row)
    .map(([name, text]) => element(name, text))
    .join('')}</s:sequence>`;

const wrapper = (name: string, row: TypeRow): string =>
  `<s:element name="${name}"><s:complexType>${sequence(row)}</s:complexType></s:element>`;

const message = (name: string): string =>
  `<message name="${name}"><part name="parameters" element="tns:${name}"/></message>`;

const reference = `<s:complexType name="ManagedObjectReference"><s:simpleContent><s:extension base="s:string"><s:attribute name="type" type="s:string"/></s:extension></s:simpleContent></s:complexType>`;

/** Answers are left untyped: `decode` types them from the same table, subtypes and unknown fields included. */
const answer = (name: string, returns: FieldText | undefined): string =>
  wrapper(`${name}Response`, returns === undefined ? {} : { returnval: 'any?' });

/** The types that requests are made of. */
function requestTypes(): readonly (readonly [string, TypeRow])[] {
  const found = new Map<string, TypeRow>();
  const visit = (row: TypeRow): void => {
    for (const text of Object.values(row)) {
      const { type } = field(text);
      const next = rowOf(type);
      if (next === undefined || found.has(type)) continue;
      found.set(type, next);
      visit(next);
    }
  };
  for (const { args } of Object.values(operations)) visit(args);
  return [...found];
}

/** A document/literal WSDL of the table, every type flat. */
export function wsdlText(): string {
  const ops: (readonly [string, OperationRow])[] = Object.entries(operations);
  const schema = [
    reference,
    ...requestTypes().map(([name, row]) => `<s:complexType name="${name}">${sequence(row)}</s:complexType>`),
    ...ops.flatMap(([name, { args, returns }]) => [wrapper(name, args), answer(name, returns)]),
  ].join('\n');
  const messages = ops.flatMap(([name]) => [message(name), message(`${name}Response`)]);
  const portType = ops.map(
    ([name]) =>
      `<operation name="${name}"><input message="tns:${name}"/><output message="tns:${name}Response"/></operation>`,
  );
  const literal = '<soap:body use="literal"/>';
  const binding = ops.map(
    ([name]) =>
      `<operation name="${name}"><soap:operation/><input>${literal}</input><output>${literal}</output></operation>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<definitions targetNamespace="urn:vim25" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:tns="urn:vim25" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:s="http://www.w3.org/2001/XMLSchema">
<types><s:schema targetNamespace="urn:vim25" elementFormDefault="qualified">
${schema}
</s:schema></types>
${messages.join('\n')}
<portType name="VimPortType">${portType.join('')}</portType>
<binding name="VimBinding" type="tns:VimPortType"><soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>${binding.join('')}</binding>
<service name="VimService"><port name="VimPort" binding="tns:VimBinding"><soap:address location="https://localhost/sdk"/></port></service>
</definitions>`;
}
