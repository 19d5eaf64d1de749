import { join } from 'node:path'
import { root } from '../package/places.ts'

/** What `npm run image` makes, and what it has fetched. */
export const cache = join(root, '.cache/image')
