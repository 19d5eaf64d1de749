/**
 * The unit `fairlead@NAME.service`, of which two can be there at once: one takes over from the other, which then lets its
 * connections end. It is the plain unit with three lines changed, so that nobody has to keep two texts equal.
 */
export function instanceUnit(plain: string): string {
  const changes: readonly (readonly [from: string, to: string])[] = [
    ['ExecStart=fairlead $FAIRLEAD_FLAGS', 'ExecStart=fairlead --take-over $FAIRLEAD_FLAGS'],
    // As long as a pod has in userspace mode.
    ['TimeoutStopSec=60s', 'TimeoutStopSec=300s'],
    // The other one is still using it.
    ['RuntimeDirectoryMode=0700', 'RuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes'],
  ]
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(`${from}\n`)) throw new Error(`fairlead.service has no line "${from}"`)
    return text.replace(`${from}\n`, () => `${to}\n`)
  }, plain)
}
