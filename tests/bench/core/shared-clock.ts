/** Milliseconds on the clock that all processes of a machine share, so that two of them can be compared. */
export function sharedClockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
