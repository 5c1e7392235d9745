# The container image, built and tried without Docker.

.PHONY: image-check
image-check: deps-image ## carry out the Dockerfile in scratch roots and try it
	/usr/bin/python3 deploy/check_image.py
