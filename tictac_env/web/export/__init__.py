"""The page as one static folder: it opens from a disk or any web host, without a server and without Python.

- `folder.py`: writes the folder; `../bundle.py`: makes one plain script of the page's modules;
- `packing.py`: the exact table, the opening book and the n-tuple network, as the page unpacks them;
- `js/`: what answers the page in the server's place. A module here stands in for that of its name in `../static/js`.
"""
