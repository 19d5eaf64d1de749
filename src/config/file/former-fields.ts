/**
 * Fields that kube-proxy once had, and that files of long-lived clusters still hold. Each has its way out, because a
 * spelling that is near would lead astray.
 */
export const formerFields: ReadonlyMap<string, string> = new Map([
  ['udpIdleTimeout', 'remove it'],
  ['resourceContainer', 'remove it'],
  ['conntrack.max', 'remove it, and set conntrack.maxPerCore and conntrack.min instead'],
])
