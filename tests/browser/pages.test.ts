/** Every page of the console: it loads without a complaint, for all eyes and widths. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seriousViolations } from './testing/axe.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { everyPath, isAtRest } from './testing/every-page.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

describe.skipIf(whyNoChromium !== undefined)(`the pages of a node${unlessChromium}`, () => {
  let browser: Browser
  let shop: Shop
  let paths: readonly string[]

  beforeAll(async () => {
    ;[browser, shop] = await Promise.all([launchChromium(), Shop.open()])
    await using watched = await WatchedPage.open(browser, `${shop.url}/syncs`)
    await watched.isLive()
    const sync = watched.page.locator('main a[href^="/syncs/"]').first()
    paths = await everyPath(watched.page, [
      '/services/default/web',
      '/services/default/front',
      '/services/default/empty',
      '/services/default/none',
      `/explain?target=127.0.0.1:${shop.webPort}&from=outside`,
      '/explain?target=service/front',
      '/explain?target=nonsense',
      (await sync.getAttribute('href')) ?? '',
    ])
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.[Symbol.asyncDispose]()
  })

  test('are more than a few', () => {
    expect(paths).toEqual(expect.arrayContaining(['/', '/services', '/explain', '/syncs', '/rules']))
  })

  test('load without errors, ask nobody else, and have one heading and a title', async () => {
    const found: string[] = []
    for (const path of paths) {
      await using watched = await WatchedPage.open(browser, shop.url + path)
      await isAtRest(watched.page)
      const [headings, title] = [await watched.page.locator('h1').count(), await watched.page.title()]
      if (headings !== 1 || !title.endsWith(' · Fairlead')) found.push(`${path}: ${headings} headings, "${title}"`)
      // What cannot be explained is an answer with a status of its own.
      const problems = watched.problems.filter((problem) => !(path.includes('nonsense') && /\b400\b/.test(problem)))
      found.push(...problems.map((problem) => `${path}: ${problem}`))
    }
    expect(found).toEqual([])
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1280, 360])('keep nobody out and need no scrolling to the side, %i pixels wide', async (width) => {
      const found: string[] = []
      // axe is no part of the page, so its policy would forbid it.
      const options = { colorScheme, bypassCSP: true, reducedMotion: 'reduce' as const }
      const viewport = { width, height: 800 }
      await using watched = await WatchedPage.open(browser, shop.url, { ...options, viewport })
      const { page } = watched
      for (const path of paths) {
        await page.goto(shop.url + path)
        await isAtRest(page)
        found.push(...(await seriousViolations(page)).map((violation) => `${path}: ${violation}`))
        const tooWide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        if (tooWide > 0) found.push(`${path}: ${tooWide} pixels too wide`)
      }
      expect(found).toEqual([])
    })
  })
})
