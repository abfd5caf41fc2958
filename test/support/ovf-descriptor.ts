/** A disk of the generated descriptor. */
export interface DescriptorDisk {
  readonly href: string;
  /** Of the file. */
  readonly size: number;
}

export interface DescriptorOptions {
  readonly name: string;
  readonly disks: readonly DescriptorDisk[];
  /** Of the product section; `null`: no product section. Default `417.94.2`. */
  readonly productVersion?: string | null;
  /** Default: one network `VM Network`. */
  readonly networks?: readonly string[];
  /** Default `lsilogic`. */
  readonly scsiController?: 'lsilogic' | 'VirtualSCSI';
  /** Default `VmxNet3`. */
  readonly networkCard?: 'VmxNet3' | 'E1000';
  /** `bootOptions.efiSecureBootEnabled`; absent: not set. */
  readonly secureBoot?: boolean;
  /** Default `vmx-15`. */
  readonly hardware?: string;
  /** With `capacityUnits`; default 8. */
  readonly capacity?: string;
  /** Default `byte * 2^20`; `null`: none. */
  readonly capacityUnits?: string | null;
  /** Default version 1 of DMTF's. */
  readonly namespace?: string;
}

const escape = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

/** An OVF descriptor in the form of VMware's exporter. */
export function ovfDescriptor(options: DescriptorOptions): string {
  const namespace = options.namespace ?? 'http://schemas.dmtf.org/ovf/envelope/1';
  const networks = options.networks ?? ['VM Network'];
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="${namespace}" xmlns:ovf="${namespace}" xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData" xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf">
  <References>
${options.disks.map(fileElement).join('\n')}
  </References>
  <DiskSection>
    <Info>Virtual disk information</Info>
${options.disks.map((_, index) => diskElement(index, options)).join('\n')}
  </DiskSection>
  <NetworkSection>
    <Info>The list of logical networks</Info>
${networks.map((name) => `    <Network ovf:name="${escape(name)}"><Description>A network</Description></Network>`).join('\n')}
  </NetworkSection>
  <VirtualSystem ovf:id="${escape(options.name)}">
    <Info>A virtual machine</Info>
    <Name>${escape(options.name)}</Name>
${productSection(options)}    <OperatingSystemSection ovf:id="80" vmw:osType="rhel8_64Guest"><Info>Guest</Info></OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>Virtual hardware requirements</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>${escape(options.name)}</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>${escape(options.hardware ?? 'vmx-15')}</vssd:VirtualSystemType>
      </System>
${item({ ElementName: '2 virtual CPU(s)', InstanceID: '1', ResourceType: '3', VirtualQuantity: '2' })}
${item({ ElementName: '512MB of memory', InstanceID: '2', ResourceType: '4', VirtualQuantity: '512' })}
${item({ Address: '0', ElementName: 'SCSI controller 0', InstanceID: '3', ResourceSubType: options.scsiController ?? 'lsilogic', ResourceType: '6' })}
${options.disks.map((_, index) => diskItem(index)).join('\n')}
${networks.map((name, index) => networkItem(name, index, options)).join('\n')}
${secureBoot(options)}    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`;
}

function fileElement(disk: DescriptorDisk, index: number): string {
  return `    <File ovf:id="file${String(index + 1)}" ovf:href="${escape(disk.href)}" ovf:size="${String(disk.size)}"/>`;
}

function diskElement(index: number, options: DescriptorOptions): string {
  const number = String(index + 1);
  const units = options.capacityUnits === undefined ? 'byte * 2^20' : options.capacityUnits;
  const unit = units === null ? '' : ` ovf:capacityAllocationUnits="${escape(units)}"`;
  return `    <Disk ovf:diskId="vmdisk${number}" ovf:fileRef="file${number}" ovf:capacity="${escape(options.capacity ?? '8')}"${unit} ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized" ovf:populatedSize="65536"/>`;
}

function productSection(options: DescriptorOptions): string {
  if (options.productVersion === null) return '';
  return `    <ProductSection>
      <Info>Information about the installed software</Info>
      <Product>Test image</Product>
      <Vendor>vmflow</Vendor>
      <Version>${escape(options.productVersion ?? '417.94.2')}</Version>
    </ProductSection>
`;
}

function diskItem(index: number): string {
  const number = String(index + 1);
  return item({
    AddressOnParent: String(index),
    ElementName: `disk${number}`,
    HostResource: `ovf:/disk/vmdisk${number}`,
    InstanceID: String(10 + index),
    Parent: '3',
    ResourceType: '17',
  });
}

function networkItem(name: string, index: number, options: DescriptorOptions): string {
  return item({
    AddressOnParent: String(7 + index),
    AutomaticAllocation: 'true',
    Connection: name,
    ElementName: `ethernet${String(index)}`,
    InstanceID: String(100 + index),
    ResourceSubType: options.networkCard ?? 'VmxNet3',
    ResourceType: '10',
  });
}

function item(fields: Readonly<Record<string, string>>): string {
  const elements = Object.entries(fields).map(([key, value]) => `        <rasd:${key}>${escape(value)}</rasd:${key}>`);
  return `      <Item>\n${elements.join('\n')}\n      </Item>`;
}

function secureBoot(options: DescriptorOptions): string {
  if (options.secureBoot === undefined) return '';
  return `      <vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
      <vmw:Config ovf:required="false" vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="${String(options.secureBoot)}"/>
`;
}
