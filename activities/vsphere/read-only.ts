/** Calls that change nothing and may be sent again after a lost answer. */
const readOnlyMethods: ReadonlySet<string> = new Set([
  'RetrieveServiceContent',
  'CurrentTime',
  'SessionIsActive',
  'FindByInventoryPath',
  'FindChild',
  'FindByUuid',
  'RetrievePropertiesEx',
  'WaitForUpdatesEx',
  'HttpNfcLeaseGetManifest',
  'QueryChangedDiskAreas',
]);

/** Whether repeating the call can do no harm. `CreateImportSpec` is left out: it is heavy and can hang a server. */
export function isReadOnly(method: string): boolean {
  return readOnlyMethods.has(method) || method.startsWith('GET ') || method.startsWith('HEAD ');
}
