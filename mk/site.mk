# site.mk - the manual as a site, and the generated pages. SPDX-License-Identifier: BSD-3-Clause
#   make site            build/site/index.html, with mkdocs, and the C API with Doxygen; works from a file, with its search
#                        (installs what is missing)
#   make check-site      checks links, anchors, pictures and titles of the site, and its width on a phone, in a real browser
#   make pages           the pages that are generated from `tutti help`: docs/reference/, docs/man/tutti-*.1
#   make pictures        the pictures of docs/ that `tutti plan draw` makes
pages: all
	@$(PYTHON) tools/pages.py --build $(BUILD)
pictures: all
	@$(PYTHON) tools/pages.py --build $(BUILD) --pictures
	@$(PYTHON) tools/rooms.py --draw docs/house.svg
site:
	@tools/deps.sh site
	@$(PYTHON) tools/site.py --build $(BUILD)
check-site: site
	@tools/deps.sh browser || echo "tutti: going on without a browser"
	@$(PYTHON) tools/check_site.py $(BUILD)/site
.PHONY: pages pictures site check-site
