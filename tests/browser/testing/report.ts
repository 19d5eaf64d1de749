/** A time for whoever reads the output. It is not asserted: the machine may be busy with something else. */
export function report(what: string, ms: number): void {
  process.stdout.write(`  measured: ${what} ${Math.round(ms)} ms\n`)
}
