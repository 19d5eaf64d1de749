import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kubectl } from './kubectl.ts'

/** Keeps what the pods of the cluster itself say, for whoever wonders why a test failed: they are gone with the cluster. */
export async function saveSystemLogs(kubectl: Kubectl, folder: string): Promise<void> {
  const here = '--namespace=kube-system'
  await writeFile(join(folder, 'system-pods.txt'), await kubectl('describe', 'pods', here))
  const names = (await kubectl('get', 'pods', here, '--output=name')).trim().split('\n')
  for (const name of names) {
    // A pod that has never started has no log.
    const log = await kubectl('logs', name, here, '--all-containers').catch((error: unknown) => String(error))
    await writeFile(join(folder, `${name.replace('/', '-')}.log`), log)
  }
}
