import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** What `npm run package` makes. */
export const packages = join(root, '.cache/package')

/** What it has fetched. */
export const downloads = join(packages, 'downloads')
