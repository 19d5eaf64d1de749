/** A kubeconfig for a server without TLS and users. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { stringify } from 'yaml'

/**
 * Replaces the file as a whole, so that a kubectl that reads it at this moment sees either the old one or the new one.
 */
export async function writeKubeconfig(path: string, url: string): Promise<void> {
  const name = 'fairlead'
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
    users: [{ name, user: {} }],
    'current-context': name,
  }
  await mkdir(dirname(path), { recursive: true })
  const aside = `${path}.${process.pid}.new`
  // kubectl warns about a kubeconfig that others may read.
  await writeFile(aside, stringify(kubeconfig), { mode: 0o600 })
  await rename(aside, path)
}
