/** Names of queries, signals and updates: one list for workflows, the client and the tests. */
export const messages = {
  /** Query: the operation's status. */
  status: 'status',
  /** Update (validated) and signal with a `Resolution`. */
  resolve: 'resolve',
  /** Update of `templateSwap`: start or join. */
  ensure: 'ensure',
  /** Update of `templateSwap` and of `migrateMain`: another target instead of the running one. */
  retarget: 'retarget',
  /** Update of `templateSwap`: back to the kept previous version. */
  undo: 'undo',
  /** Update of `templateSwap`: stop keeping the previous version. */
  endKeep: 'endKeep',
  /** Update: end the current wait for space and try at once. */
  retryNow: 'retryNow',
  /** Update of `vmCoordinator`: an operation object exists. */
  submit: 'submit',
  /** Update of `vmCoordinator` and of `requestHibernation`: what a person asks; creates the object. */
  request: 'request',
  /** Update of `vmCoordinator`: end a stuck operation as failed. */
  abandon: 'abandon',
  /** Update of `vmCoordinator`: delete an operation object. */
  cancelOperation: 'cancelOperation',
  /** Signal to `vmCoordinator`: an operation object is being deleted or gone. */
  opDeleted: 'opDeleted',
  /** Signal to `vmCoordinator`: the workflow of an operation ended. */
  opEnded: 'opEnded',
  /** Signal to `vmOperation`: end now. */
  takeDown: 'takeDown',
  /** Signal to `cocoonSet`, `migrateMain` and `hibernation`: something has changed, look again. */
  poke: 'poke',
  /** Signal to `cocoonSet`: the migration of its main VM ended. */
  migrationClosed: 'migrationClosed',
  /** Signal to `migrationGate` with a `SlotCall`. */
  slot: 'slot',
  /** Signal of the gate to `migrateMain`: it may hibernate the VM now. */
  granted: 'granted',
  /** Update of `migrateMain`: leave a hold and try again. */
  retry: 'retry',
  /** Update of `migrateMain`: the VM is wanted back where it came from. */
  abort: 'abort',
  /** Update of `migrateMain`: the state of the VM is given up. */
  acknowledgeLoss: 'acknowledgeLoss',
  /** Update of `drainNode`: start nothing more. */
  cancelDrain: 'cancelDrain',
  /** Update of `batch`: make it so, or change it while it is Defined. */
  apply: 'apply',
  /** Updates of `batch`. */
  start: 'start',
  stop: 'stop',
  resume: 'resume',
  edit: 'edit',
  reset: 'reset',
  delete: 'delete',
  /** Query of `batch`: its spec and revision. */
  spec: 'spec',
  /** Signal of a shard to its `batch`. */
  shardNews: 'shardNews',
  /** Signal of the `batch` to a shard. */
  shardOrder: 'shardOrder',
  /** Query of a shard: a page of its members. */
  entries: 'entries',
  /** Signal of a `migration` to its shard. */
  entryNews: 'entryNews',
  /** Updates of `migration`. */
  cancel: 'cancel',
  hold: 'hold',
  unhold: 'unhold',
  cutover: 'cutover',
  cleanup: 'cleanup',
  /** Signals to `migration`. */
  commitGranted: 'commitGranted',
  slotGranted: 'slotGranted',
  sourceUpdated: 'sourceUpdated',
  settingsChanged: 'settingsChanged',
  pause: 'pause',
  unpause: 'unpause',
  /** Signal to `migration`: enough of those before it are through. */
  giveTurn: 'giveTurn',
  /** Signal to `migration`: its shard doesn't know it, say where you are. */
  reportNews: 'reportNews',
  /** Query of `migration`: its view and the record of its VM. */
  record: 'record',
  /** Query of `migration`: what happened so far. */
  timeline: 'timeline',
  /** Signal to `slots`. */
  slotOrder: 'slotOrder',
  /** Update of `source`: read it now, or join the one that reads. */
  sync: 'sync',
} as const;
