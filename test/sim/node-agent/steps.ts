/** Where an agent can be killed: each names what it is about to do. The timeline has them as well. */
export const steps = [
  'create-1', // look at the Pod
  'create-3', // lifecycle `creating`
  'create-4', // adopt a VM of that name
  'create-6', // ask the registry whether to restore
  'create-7', // download, or boot
  'create-7-downloaded', // make a VM of the snapshot
  'create-9', // write id and address
  'create-10', // status Running
  'create-11', // wait for the network, then `ready`
  'hibernate-1', // lifecycle `hibernating`
  'hibernate-2', // pause and save
  'hibernate-2-paused', // the guest is paused, nothing is saved
  'hibernate-3', // upload
  'hibernate-3-blobs', // everything but the manifest is uploaded
  'hibernate-4', // take id and address off
  'hibernate-5', // remove the VM
  'hibernate-6', // lifecycle `hibernated`
  'hibernate-7', // status Pending
  'wake-1', // lifecycle `creating`
  'wake-2', // clear what is left of id and address
  'wake-3', // download
  'wake-4', // make a VM of the snapshot
  'delete-1', // keep the last state under `latest`
  'delete-2', // remove the VM
  'delete-3', // status Succeeded
  'delete-4', // remove the Pod from the API
] as const;
export type Step = (typeof steps)[number];

export function isStep(text: string): text is Step {
  return steps.some((step) => step === text);
}
