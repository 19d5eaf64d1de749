import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'

const deployFolder = fileURLToPath(new URL('../../deploy/', import.meta.url))
export const chartFolder = join(deployFolder, 'helm/fairlead')
export const manifestsFolder = join(deployFolder, 'manifests')

/** As prettier would leave the file. */
export async function formatted(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path })
}
