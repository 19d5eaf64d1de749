/** Boots a guest for one case and brings back what was measured in it. */
import { fileURLToPath } from 'node:url'
import { runInGuest } from '../../ipvs/testing/guest.ts'
import type { IpvsCase, IpvsRun } from './ipvs-run.ts'

const script = fileURLToPath(new URL('./guest-process.ts', import.meta.url))
const resultFile = 'result.json'
/** kube-proxy starts a program for each entry of a set. */
const timeoutMs = 900_000

export async function measureInGuest(measured: IpvsCase): Promise<IpvsRun> {
  const command = [process.execPath, '--import', 'tsx', script, JSON.stringify(measured)]
  const { output, filesByName } = await runInGuest(command, { timeoutMs, memoryMb: 2048, resultFiles: [resultFile] })
  const result = filesByName.get(resultFile)
  if (result === undefined) throw new Error(`the measurement in the guest failed:\n${output}`)
  return JSON.parse(result) as IpvsRun
}
